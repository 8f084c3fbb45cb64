import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { PAGE_BYTES } from './paging.ts'

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

/**
 * An offset page. It cannot end early as a cursor page can, so a page that is too large for memory is streamed in portions, as fast as the
 * client reads, without holding a database connection in between.
 */
export async function sendPage<Item, Rest extends object>(reply: FastifyReply, { portions, read, rest }: Page<Item, Rest>) {
  const [only = [], ...more] = portions
  if (!more.length) return { data: await read(only), ...rest }
  // Buffers by bytes, not by chunks: object mode would read 16 portions ahead.
  const text = Readable.from(print({ portions, read, rest }), { objectMode: false })
  return reply.type('application/json; charset=utf-8').send(text as never) // the schema describes an object, not a stream
}

async function* print<Item, Rest extends object>({ portions, read, rest }: Page<Item, Rest>) {
  let separator = '{"data":['
  for (const ids of portions) {
    for (const item of await read(ids)) {
      yield separator + JSON.stringify(item)
      separator = ','
    }
  }
  yield `${separator === ',' ? '' : separator}],${JSON.stringify(rest).slice(1)}`
}
