// Makes the two images that the Dockerfile is built on, from packages of Debian and with no registry of images: one that
// builds, with npm and binutils, and one that runs, with glibc, libstdc++ and no shell.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const BUILD_IMAGE = 'localhost/postrider-check-build';
export const RUNTIME_IMAGE = 'localhost/postrider-check-runtime';

/** The one that the Dockerfile names. */
const SUITE = 'bookworm';
/** As the image has them that the Dockerfile runs on unless it is told otherwise. */
const RUNTIME_PACKAGES = ['base-files', 'ca-certificates', 'libc6', 'libgcc-s1', 'libstdc++6', 'tzdata'];
const BUILD_PACKAGES = ['binutils', 'ca-certificates', 'libatomic1'];
/** What nobody reads in an image. */
const LEFT_OUT = ['doc', 'man', 'lintian', 'bug', 'locale'].map((name) => `usr/share/${name}`).join(' ');

/** Runs buildah, and returns what it prints. */
export type Buildah = (...args: string[]) => string;

export function makeBaseImages(buildah: Buildah, npmFolder: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-image-'));
  try {
    const archive = join(folder, 'debian.tar');
    debian(archive);
    copyNode(join(folder, 'local'), npmFolder);
    const build = buildah('from', 'scratch');
    buildah('add', '--quiet', build, archive, '/');
    buildah('copy', '--quiet', '--chown', '0:0', build, join(folder, 'local'), '/usr/local');
    for (const setting of settingsOfNpm(buildah, build)) buildah('config', '--env', setting, build);
    buildah('config', '--env', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', build);
    const runtime = buildah('from', 'scratch');
    buildah('copy', '--quiet', '--from', build, runtime, '/runtime', '/');
    buildah('commit', '--quiet', '--rm', runtime, RUNTIME_IMAGE);
    buildah('commit', '--quiet', '--rm', build, BUILD_IMAGE);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A small Debian, and in its folder /runtime the files of the packages that the service runs on. */
function debian(archive: string): void {
  const fetched = [
    'mkdir "$1/packages" "$1/runtime"',
    'cd "$1/packages"',
    `APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download -qq ${RUNTIME_PACKAGES.join(' ')}`,
    'for each in *.deb; do dpkg-deb --extract "$each" ../runtime; done',
    `cd ../runtime && rm -rf ${LEFT_OUT} ../packages`,
  ];
  execFileSync(
    'mmdebstrap',
    [
      '--quiet',
      '--variant=minbase',
      `--include=${BUILD_PACKAGES.join(',')}`,
      `--customize-hook=set -e; ${fetched.join('; ')}`,
      SUITE,
      archive,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
}

/** The Node.js that runs this, and its npm. */
function copyNode(local: string, npmFolder: string): void {
  mkdirSync(join(local, 'bin'), { recursive: true });
  cpSync(process.execPath, join(local, 'bin', 'node'));
  cpSync(npmFolder, join(local, 'lib', 'node_modules', 'npm'), { recursive: true, dereference: true });
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
  }
}

/** Where this machine gets its packages from: its registry, and the authorities that it trusts beside the usual ones. */
function settingsOfNpm(buildah: Buildah, container: string): string[] {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  if (!authorities) return [`npm_config_registry=${registry}`];
  const place = '/etc/ssl/authorities.pem';
  buildah('copy', '--quiet', '--chown', '0:0', container, authorities, place);
  return [`npm_config_registry=${registry}`, `NODE_EXTRA_CA_CERTS=${place}`];
}

/** The folder of the npm that has started this. */
export function npmFolderOf(env: NodeJS.ProcessEnv): string | null {
  return env.npm_execpath === undefined ? null : dirname(dirname(env.npm_execpath));
}
