import type { Call } from './request.ts'

/** A group of methods of the client. */
export class Resource {
  protected readonly call: Call

  constructor(call: Call) {
    this.call = call
  }
}
