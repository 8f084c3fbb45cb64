/** An SMTP reply other than 250. A text that begins with an enhanced code is sent with that one. */
export class Refusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}
