# Sterna, with its embedded PostgreSQL; see docs/docker.md. `npm run check-image` runs these lines without Docker.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY server/package.json server/
COPY dashboard/package.json dashboard/
COPY sdk/package.json sdk/
RUN npm ci --no-audit --no-fund
COPY . .
# The package of a release, with the versions of its lock file: the image contains what the package installs, and nothing else.
RUN node scripts/pack.mjs release
WORKDIR /installed
RUN tar -xzf /app/release/sterna-*.tgz --strip-components=1 && npm ci --no-audit --no-fund && chmod +x bin/sterna.mjs && ln -s sterna.mjs bin/sterna

FROM node:22-bookworm-slim
# A container is reached by its outer address: loopback would be its own.
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data STERNA_COMMAND=sterna PATH=/app/bin:$PATH
WORKDIR /app
COPY --from=build /installed ./
RUN mkdir -p /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
# A worker answers /ready, too.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/ready`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["sterna", "start"]
