# syntax=docker/dockerfile:1
# The example agents of compose.yaml, made with the official SDK. Not for production: all development packages are in it.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM ${NODE_IMAGE}
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY examples examples
RUN npx tsc -p examples
ENV NODE_ENV=production HOST=0.0.0.0 PORT=9999
USER 1000:1000
EXPOSE 9999
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch('http://127.0.0.1:9999/.well-known/agent-card.json').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/examples/agent.js"]
