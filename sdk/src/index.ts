export type { ConnectionOptions } from './connection.ts'
export { Download } from './download.ts'
export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  SternaError,
  TimeoutError,
  ValidationError,
} from './error.ts'
export type * from './generated.ts'
export type { Bound, Items } from './list.ts'
export type { SendResult, TrackResult } from './once.ts'
export type { Body, CallOptions, IdempotentOptions, Input, Operation, Query, Result, RevisionOptions } from './request.ts'
export { Sterna, type SternaOptions } from './sterna.ts'
export { Tracker } from './tracker.ts'
export { type WebhookEvent, type WebhookRequest, Webhooks, WebhookVerificationError } from './webhooks.ts'
