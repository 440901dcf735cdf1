# The image of Postrider: Node.js, the package and nothing else, for a user without rights and a read-only root.
# docs/deployment.md says how it is built and run.

# Builds: any Node.js with npm on a Debian that has binutils. The Node.js of the image is the one in package-lock.json.
ARG BUILD_IMAGE=node:26-bookworm
# Runs: any image with glibc and libstdc++ of the same Debian or a newer one. A shell is not needed.
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12

FROM ${BUILD_IMAGE} AS build
WORKDIR /source
COPY . .
RUN npm ci --no-audit --no-fund && npm run build:packages
# The first line of the command names Node.js itself, because there may be no /usr/bin/env.
# Node.js needs libatomic on some platforms, and small images lack it.
RUN mkdir -p /image/usr/local/bin /image/usr/lib /image/opt /image/data \
  && cp "$(npx node -p process.execPath)" /image/usr/local/bin/node \
  && strip /image/usr/local/bin/node \
  && ldd /image/usr/local/bin/node | awk '/libatomic/ { print $3 }' | xargs -r -I '{}' cp -L '{}' /image/usr/lib/ \
  && cp -R dist/postrider /image/opt/postrider \
  && sed -i '1s|.*|#!/usr/local/bin/node|' /image/opt/postrider/bin/postrider.js \
  && ln -s /opt/postrider/bin/postrider.js /image/usr/local/bin/postrider \
  && chmod 0700 /image/data

FROM ${RUNTIME_IMAGE}
LABEL org.opencontainers.image.title="Postrider" \
  org.opencontainers.image.description="Accepts messages over HTTP and delivers each one later, as an HTTP request." \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /image/usr/lib/ /usr/lib/
COPY --from=build /image/usr/local/bin/ /usr/local/bin/
COPY --from=build /image/opt/ /opt/
COPY --from=build --chown=10001:10001 /image/data /data
ENV PATH=/usr/local/bin:/usr/bin:/bin \
  HOME=/nonexistent \
  POSTRIDER_DATA=/data
# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8411
STOPSIGNAL SIGTERM
# /healthz, not /readyz: managers restart what is unhealthy, and a node whose disk is full or whose database is away must
# go on delivering or recover by itself.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["/usr/local/bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.POSTRIDER_PORT || 8411}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/local/bin/postrider"]
CMD ["serve"]
