import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { PAGE_BYTES } from '../core/paging.ts'

type Sized = { id: string; bytes: number }
type Page<Item, Rest> = { portions: string[][]; read: (ids: string[]) => Promise<Item[]>; rest: Rest }

/** Ids in groups of at most PAGE_BYTES, or of one. */
export function pagePortions(rows: Sized[]): string[][] {
  const portions: string[][] = []
  let room = 0
  for (const { id, bytes } of rows) {
    if (!portions.length || bytes > room) {
      portions.push([])
      room = PAGE_BYTES
    }
    portions.at(-1)!.push(id)
    room -= bytes
  }
  return portions
}

type PageOptions = {
  /** A second name under which the answer repeats `data`. */
  alias?: string
}

/**
 * An offset page. It cannot end early as a cursor page can, so a page that is too large for memory is streamed in portions, as fast as the
 * client reads, without holding a database connection in between.
 */
export async function sendPage<Item, Rest extends object>(
  reply: FastifyReply,
  { portions, read, rest }: Page<Item, Rest>,
  { alias }: PageOptions = {},
) {
  const [only = [], ...more] = portions
  if (more.length) return sendText(reply, printPage({ portions, read, rest }, alias ? ['data', alias] : ['data']))
  const data = await read(only)
  return { data, ...(alias ? { [alias]: data } : {}), ...rest }
}

/** A list without pages, as a bare array. Streamed in the same way. */
export async function sendList<Item>(reply: FastifyReply, { portions, read }: Omit<Page<Item, object>, 'rest'>) {
  const [only = [], ...more] = portions
  return more.length ? sendText(reply, printArray({ portions, read })) : read(only)
}

function sendText(reply: FastifyReply, text: AsyncIterable<string>) {
  // Buffers by bytes, not by chunks: object mode would read 16 portions ahead.
  const stream = Readable.from(text, { objectMode: false })
  return reply.type('application/json; charset=utf-8').send(stream as never) as never // the schema describes a value, not a stream
}

async function* printPage<Item, Rest extends object>({ portions, read, rest }: Page<Item, Rest>, names: string[]) {
  let separator = '{'
  for (const name of names) {
    yield `${separator}${JSON.stringify(name)}:`
    yield* printArray({ portions, read })
    separator = ','
  }
  yield `,${JSON.stringify(rest).slice(1)}`
}

async function* printArray<Item>({ portions, read }: Omit<Page<Item, object>, 'rest'>) {
  let separator = '['
  for (const ids of portions) {
    for (const item of await read(ids)) {
      yield separator + JSON.stringify(item)
      separator = ','
    }
  }
  yield separator === '[' ? '[]' : ']'
}
