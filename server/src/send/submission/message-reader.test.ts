import { afterAll, expect, test } from 'vitest'
import { MalformedMessage } from '../../mime/raw/head.ts'
import { createMessageReader } from './message-reader.ts'
import { readSubmitted } from './read-submitted.ts'

const reader = createMessageReader()
afterAll(() => reader.close())

const HEAD = 'From: Ada <ada@shop.example>\r\nBcc: b@x.example\r\nSubject: Hi\r\nReceived: x\r\nX-Sterna-Idempotency-Key: k\r\nDate: x\r\n'
const lines = (bytes: number) => `${'x'.repeat(98)}\r\n`.repeat(bytes / 100)
const request = (text: string) => ({ chunks: [Buffer.from(text)], is8bit: true, recipients: ['a@x.example'] })
const messageOf = (bytes: number) => request(`${HEAD}\r\n${lines(bytes)}`)

test.each([1_000, 100_000, 3_000_000])('a message of %i bytes is read alike on the main thread and in a thread', async (bytes) => {
  const { raw, ...read } = await reader.read('owner', messageOf(bytes))
  const { raw: expected, ...rest } = readSubmitted(messageOf(bytes)) as Awaited<ReturnType<typeof reader.read>>
  expect(read).toEqual(rest)
  expect(raw.equals(expected)).toBe(true)
  expect(raw.toString('latin1', 0, 100)).toMatch(/^From: .*\r\nSubject: Hi\r\nDate: x\r\n\r\nxxx/)
})

test.each([
  ['without a body', `${HEAD}X-Long: ${lines(80_000).replaceAll('\r\n', '')}\r\n\r\n`],
  ['without an end of its header', `${HEAD}X-Long: ${lines(80_000).replaceAll('\r\n', '')}`],
  ['of removed headers', `${HEAD}${`Received: ${'x'.repeat(900)}\r\n`.repeat(90)}`],
])('a large message %s is read', async (_, text) => {
  const { raw } = await reader.read('owner', request(text))
  expect(raw.toString()).toBe(`${text.replace(/^(Bcc|Received|X-Sterna-Idempotency-Key): .*\r\n/gm, '').replace(/(\r\n)*$/, '')}\r\n\r\n`)
})

test('a large message that is refused has the reason', async () => {
  await expect(reader.read('owner', request(`Subject: x\r\n\r\n${lines(100_000)}`))).rejects.toThrow(MalformedMessage)
})

test('a message that is not read in time is refused for the moment', async () => {
  const impatient = createMessageReader({ limitMsOf: () => 0 })
  await expect(impatient.read('owner', messageOf(30_000_000))).rejects.toMatchObject({ responseCode: 451 })
  await impatient.close()
})

test('the messages of one owner leave a thread to the others', async () => {
  const ended: string[] = []
  const read = (owner: string, bytes: number) => reader.read(owner, messageOf(bytes)).then(() => ended.push(owner))
  await Promise.all([...Array.from({ length: 5 }, () => read('busy', 8_000_000)), read('other', 100_000)])
  expect(ended.indexOf('other')).toBeLessThan(5)
})
