import { expect, test } from 'vitest'
import { fitToServer } from './fit-server.ts'
import type { OutgoingMessage } from './transport.ts'

const ALL = { eightBit: true, utf8: true }
const outgoing = (more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  projectId: 'p',
  id: 'e',
  from: 'a@shop.example',
  recipient: 'b@x.example',
  subject: 'Hi',
  message: Buffer.from('Grüße\r\n'),
  form: '8bit',
  to7bit: async () => Buffer.from('encoded\r\n'),
  ...more,
})

test('a server with the extensions gets the message as it is', async () => {
  for (const form of ['8bit', 'utf8'] as const) {
    const message = outgoing({ form })
    expect(await fitToServer(message, ALL)).toBeUndefined()
    expect(message).toMatchObject({ form, message: Buffer.from('Grüße\r\n') })
  }
})

test('a server without 8BITMIME, such as Amazon SES, gets it encoded', async () => {
  const message = outgoing({ isWireForm: true })
  expect(await fitToServer(message, { eightBit: false, utf8: false })).toBeUndefined()
  expect(message).toMatchObject({ form: undefined, isWireForm: false, message: Buffer.from('encoded\r\n') })
})

test('what can never be sent ends the email, and says nothing about its recipient', async () => {
  const rejected = { is: 'refused', disposition: { action: 'fail', about: 'email' } }
  expect(await fitToServer(outgoing({ form: 'utf8' }), { eightBit: true, utf8: false })).toMatchObject(rejected)
  const signed = outgoing({ to7bit: () => Promise.reject(new Error('signed')) })
  expect(await fitToServer(signed, { eightBit: false, utf8: true })).toMatchObject({
    ...rejected,
    response: expect.stringMatching(/signed/),
  })
})
