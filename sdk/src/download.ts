/** A file of the API. Its content is read once, by one of the methods. */
export class Download {
  readonly contentType: string
  /** The name that the server suggests. */
  readonly filename: string | undefined
  readonly #response: Response

  constructor(response: Response) {
    this.#response = response
    this.contentType = response.headers.get('content-type') ?? 'application/octet-stream'
    this.filename = filenameOf(response.headers.get('content-disposition'))
  }

  /** The content as it arrives, for files that should not be held in memory. */
  stream(): ReadableStream<Uint8Array> {
    return this.#response.body ?? new Blob([]).stream()
  }

  blob(): Promise<Blob> {
    return this.#response.blob()
  }

  text(): Promise<string> {
    return this.#response.text()
  }
}

/** Only a plain name: a path from the server must not decide where a file is written. */
function filenameOf(disposition: string | null): string | undefined {
  const name = /filename="([^"]*)"|filename=([^;\s]*)/i.exec(disposition ?? '')
  const last = (name?.[1] ?? name?.[2])?.split(/[/\\]/).at(-1)
  return last && !/^\.+$/.test(last) ? last : undefined
}
