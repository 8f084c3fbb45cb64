import type { App, Deps } from './http/core/types.ts'
import { healthRoutes, type Readiness } from './http/health.ts'
import { createServer, refuseUnknown } from './http/server.ts'

/** A worker serves only its own health. */
export async function buildWorkerApp(deps: Deps, readiness: Readiness): Promise<App> {
  const app = await createServer(deps)
  healthRoutes(app, deps, readiness)
  refuseUnknown(app)
  return app
}
