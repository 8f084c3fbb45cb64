import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** Metrics of this process, in the format of Prometheus. Names and labels are part of the interface: dashboards and alerts use them. */
export const registry = new Registry()
const registers = [registry]

/** Requests by the pattern of their route, since paths contain ids and tokens. */
export const requestSeconds = new Histogram({
  name: 'sterna_http_request_seconds',
  help: 'Duration of HTTP requests, by method, route and class of the status code.',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers,
})

export const overloadRefusals = new Counter({
  name: 'sterna_overload_refusals_total',
  help: 'Requests refused because the node is overloaded.',
  registers,
})

export const cutOffs = new Counter({
  name: 'sterna_cut_offs_total',
  help: 'Request bodies, messages by SMTP and SMTP connections that were ended to make room for others.',
  labelNames: ['what'],
  registers,
})

export const providerReplies = new Counter({
  name: 'sterna_provider_replies_total',
  help: 'Attempts to hand an email to the provider, by outcome and by what a refusal was about.',
  labelNames: ['outcome', 'about'],
  registers,
})

export const batchSize = new Histogram({
  name: 'sterna_batch_size',
  help: 'Items that one transaction wrote together, by kind of batch.',
  labelNames: ['batch'],
  buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500],
  registers,
})

export const webhookAttempts = new Counter({
  name: 'sterna_webhook_attempts_total',
  help: 'Calls of webhook endpoints and of WEBHOOK steps, by class of the answer.',
  labelNames: ['answer'],
  registers,
})

/** CPU, memory, event loop lag and garbage collection of the process. Only while somebody reads them: some use timers. */
export const measureProcess = () => collectDefaultMetrics({ register: registry })
