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
 * An offset page. It cannot be cut short as a cursor page can, so one that is too large to be held is written portion by portion, as
 * fast as the client reads it, with no connection to the database held in between.
 */
export async function sendPage<Item, Rest extends object>(reply: FastifyReply, { portions, read, rest }: Page<Item, Rest>) {
  const [only = [], ...more] = portions
  if (!more.length) return { data: await read(only), ...rest }
  // By bytes, not by chunks: 16 portions would be buffered ahead otherwise.
  const text = Readable.from(print({ portions, read, rest }), { objectMode: false })
  return reply.type('application/json; charset=utf-8').send(text as never) // a stream is not the schema's object
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
