// Builds the console into dist/, with relative URLs throughout: it does not know what path it will be served under.

import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [react(), tailwind()],
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    // Nothing may be inlined: the page's policy takes scripts, styles and images from our own files only.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
    // What is inside asks that its licence goes along.
    license: { fileName: 'licenses.md' },
  },
});
