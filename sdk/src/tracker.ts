import { type ConnectionOptions, connect } from './connection.ts'
import { type TrackResult, trackEvent } from './once.ts'
import type { Body, Connection, IdempotentOptions } from './request.ts'

/** Tracks events with the public key of a project. The key can do nothing else, so it may be used on any web page. */
export class Tracker {
  readonly #connection: Connection

  constructor({ publicKey, ...options }: ConnectionOptions & { publicKey: string }) {
    this.#connection = { ...connect(options), apiKey: publicKey }
  }

  /** Creates or updates the contact and records the event; never records it twice. */
  track(body: Body<'POST /v1/track'>, options: IdempotentOptions = {}): Promise<TrackResult> {
    return trackEvent(this.#connection, body, options)
  }
}
