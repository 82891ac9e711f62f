# syntax=docker/dockerfile:1
# The Node image is an argument so that it can be pinned by digest, or replaced by a mirror's.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY scripts scripts
COPY bench bench
COPY examples examples
COPY config config
COPY docs docs
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="a2a-extension-gateway" \
      org.opencontainers.image.description="Enforces A2A AgentCard extensions in front of unmodified agents" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=build /build/package.json /build/LICENSE* ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist/src dist/src
COPY --from=build /build/config config
ENV NODE_ENV=production \
    A2A_GATEWAY_ADMIN=0.0.0.0:9901
# Writes nothing: run it with a read-only root file system.
USER 1000:1000
EXPOSE 8080 9901
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["node", "/app/dist/src/main.js", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/src/main.js"]
CMD ["serve"]
