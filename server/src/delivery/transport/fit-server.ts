import type { OutgoingMessage, SendOutcome } from './transport.ts'

/** Extensions of SMTP that a server has. */
type Abilities = { eightBit: boolean; utf8: boolean }

/**
 * Fits a message of others to the server: one with text in 8 bits is encoded for a server without 8BITMIME. Headers cannot be encoded without
 * changing them. Returns the outcome of an email that this server can never take.
 */
export async function fitToServer(outgoing: OutgoingMessage, { eightBit, utf8 }: Abilities): Promise<SendOutcome | undefined> {
  const { form, to7bit } = outgoing
  if (form === 'utf8' && !utf8) return rejected('550 5.6.7 The relay does not support SMTPUTF8, which the headers of this message need.')
  if (form !== '8bit' || eightBit || !to7bit) return undefined
  const message = await to7bit().catch((err: Error) => err)
  if (message instanceof Error) return rejected(`554 5.6.3 The relay does not support 8BITMIME. ${message.message}`)
  Object.assign(outgoing, { message, form: undefined, isWireForm: false })
  return undefined
}

/** About this email only: nothing is known about its recipient. */
const rejected = (response: string): SendOutcome => ({
  is: 'refused',
  at: 'message',
  code: Number(response.slice(0, 3)),
  response,
  disposition: { action: 'fail', about: 'email' },
})
