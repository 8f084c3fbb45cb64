import type { Socket } from 'node:net'
import { KB, SECOND } from '../../lib/text/units.ts'

/** After QUIT, time for the server to close the connection. */
const QUIT_MS = 5 * SECOND
export const MAX_REPLY = 64 * KB
/** Unsolicited replies after which the session is dropped. */
const MAX_UNREAD = 10

/** All lines of a reply, and the code of the last one; 0 when it has none. */
export type SmtpReply = { code: number; text: string }
type Waiter = { resolve: (reply: SmtpReply) => void; reject: (err: Error) => void }
export type SmtpDialog = ReturnType<typeof createSmtpDialog>

/** The replies on a socket, one at a time, and a time limit for each phase. */
export function createSmtpDialog(socket: Socket) {
  const unread: SmtpReply[] = []
  let waiter: Waiter | undefined
  let lostBy: Error | undefined
  let deadline: NodeJS.Timeout | undefined
  const replies = createReplyReader((reply) => {
    if (waiter) settleWaiter(({ resolve }) => resolve(reply))
    else if (unread.push(reply) > MAX_UNREAD) lose(new Error('the server sent replies that were not asked for'))
  })

  socket.setTimeout(0)
  // The final dot is a write of its own, which must not wait for an acknowledgement of the message.
  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    if (!replies.read(chunk)) lose(new Error('the reply is too long'))
  })
  socket.on('error', lose)
  // Deferred: a server that replies and closes may close first, and the reply has the reason.
  const closed = () =>
    setImmediate(() => {
      replies.end()
      lose(new Error('the connection was closed'))
    })
  socket.on('end', closed)
  socket.on('close', closed)

  function settleWaiter(how: (waiter: Waiter) => void) {
    const waiting = waiter
    waiter = undefined
    if (waiting) how(waiting)
  }

  function lose(err: Error) {
    lostBy ??= err
    clearTimeout(deadline)
    socket.destroy()
    settleWaiter(({ reject }) => reject(err))
  }

  return {
    lose,
    /** False when the connection has ended, or the server sent something that was not asked for. */
    isUsable: () => !lostBy && unread.length === 0,
    /** Replaces the time limit of the phase before. */
    within(ms: number, what: string) {
      clearTimeout(deadline)
      deadline = setTimeout(() => lose(new Error(`no reply to ${what} in time`)), ms)
    },
    endTimeLimit: () => clearTimeout(deadline),
    nextReply(): Promise<SmtpReply> {
      const reply = unread.shift()
      if (reply) return Promise.resolve(reply)
      if (lostBy) return Promise.reject(lostBy)
      return new Promise((resolve, reject) => {
        waiter = { resolve, reject }
      })
    },
    /** True while the reply that was asked for last has not come. */
    isWaiting: () => waiter !== undefined,
    write: (line: string) => void socket.write(line),
    /** Resolves when the bytes have left this process, not while a slow network still transmits them. */
    written: (bytes: Buffer) => new Promise<undefined>((resolve) => void socket.write(bytes, () => resolve(undefined))),
    hangUp() {
      lostBy ??= new Error('the session was ended')
      socket.end('QUIT\r\n')
      setTimeout(() => socket.destroy(), QUIT_MS).unref()
    },
  }
}

/** Reads replies from chunks that may end anywhere. */
function createReplyReader(onReply: (reply: SmtpReply) => void) {
  let line = ''
  let lines = ''
  return {
    /** False once a reply is too long. */
    read(chunk: Buffer) {
      const parts = (line + chunk.toString('latin1')).split('\n')
      line = parts.pop()!
      for (const part of parts) {
        const text = part.endsWith('\r') ? part.slice(0, -1) : part
        if (!text.trim()) continue
        lines += lines ? `\n${text}` : text
        if (/^\d+-/.test(text)) continue
        onReply({ code: Number.parseInt(text, 10) || 0, text: decoded(lines) })
        lines = ''
      }
      return line.length + lines.length <= MAX_REPLY
    },
    /** The connection has ended: a refusal without its line break counts. */
    end() {
      if (/^[45]\d\d[ -]/.test(line)) onReply({ code: Number.parseInt(line, 10), text: decoded(line.trim()) })
      line = ''
    },
  }
}

/** UTF-8, or the bytes as they are if they are something else. */
function decoded(latin1: string) {
  if (!/[^\0-\x7f]/.test(latin1)) return latin1
  const utf8 = Buffer.from(latin1, 'latin1').toString()
  return utf8.includes('\ufffd') ? latin1 : utf8
}
