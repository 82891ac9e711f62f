# Builds with docker, BuildKit, podman and buildah, and takes nothing from a network but the Node image and the packages of package-lock.json.
# The Node image is pinned by the digest of its index, which has amd64 and arm64 (docs/contributing/releasing.md says how to update it). It is an argument,
# so that a mirror's can replace it. It must be one of Debian.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json LICENSE ./
COPY src src
COPY scripts scripts
COPY bench bench
COPY examples examples
COPY config config
COPY docs docs
COPY deploy deploy
# Of all files in the image, in seconds since 1970: the same sources are the same layers.
ARG SOURCE_DATE_EPOCH=0
RUN npm run build && node dist/scripts/image/main.js /image

# Node, the libraries it is linked against, and the gateway; no shell, no package manager.
FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="a2a-extension-gateway" \
      org.opencontainers.image.description="Enforces A2A extensions in front of agents, without changing them" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://github.com/OWNER/a2a-extension-gateway" \
      org.opencontainers.image.source="https://github.com/OWNER/a2a-extension-gateway" \
      org.opencontainers.image.documentation="https://github.com/OWNER/a2a-extension-gateway/blob/main/docs/how-to/deploy.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /image/runtime/ /
COPY --from=build /image/app/ /
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    A2A_GATEWAY_ADMIN=0.0.0.0:9901
# Writes nothing: run it with a read-only root file system.
USER 1000:1000
EXPOSE 8080 8082 9901
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/usr/local/bin/node", "/app/dist/src/main.js", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/src/main.js"]
CMD ["serve"]
