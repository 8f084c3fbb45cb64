import type { App } from '../http/core/types.ts'
import { newSpanId, newTraceId, readTraceParent, recordSpan } from '../lib/process/tracing.ts'

/** A span for each request, in the trace of the caller if it has one. */
export function traceRequests(app: App) {
  app.addHook('onRequest', (req, _reply, done) => {
    const parent = readTraceParent(req.headers.traceparent)
    req.span = { traceId: parent?.traceId ?? newTraceId(), spanId: newSpanId() }
    done()
  })
  app.addHook('onResponse', (req, reply, done) => {
    const route = req.routeOptions.url ?? 'unknown'
    recordSpan({
      ...req.span!,
      parentSpanId: readTraceParent(req.headers.traceparent)?.spanId,
      name: `${req.method} ${route}`,
      kind: 'server',
      attributes: {
        'http.request.method': req.method,
        'http.route': route,
        'http.response.status_code': reply.statusCode,
        'sterna.request_id': req.id,
        'sterna.project_id': req.project?.id,
      },
      startedAt: Date.now() - reply.elapsedTime,
      isError: reply.statusCode >= 500,
    })
    done()
  })
}
