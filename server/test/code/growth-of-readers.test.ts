import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { readRecords } from '../../src/contacts/csv/csv-records.ts'
import { readReport } from '../../src/delivery/feedback/dsn.ts'
import { untrackHtml } from '../../src/delivery/message/links/untrack.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { readHtml } from '../../src/mime/html/html-to-text.ts'
import { labelLinks } from '../../src/mime/html/label-links.ts'
import { readMessage } from '../../src/mime/raw/read-message.ts'
import { readVisible } from '../../src/preferences/visible.ts'
import { prepare } from '../../src/templates/language/prepare.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

/**
 * Readers that rest on a library, whose steps cannot be counted: CPU time at three sizes. Ratios only, the best of five, and only of times that
 * are long enough to be measured.
 */
const FAMILIES: Record<string, string[]> = {
  html: [
    '<a ',
    '<a href="',
    '<a href="x" ',
    '<!--',
    '<![CDATA[',
    '<b>',
    '</b>',
    '&',
    '&amp',
    '<style>',
    '<script>',
    '<',
    ' ',
    '<img src="http://x/t/o/a" ',
    "<div style=\"background-image:url('http://x/t/o/a')",
  ],
  mime: [
    '(',
    ';a="',
    '=?a?q?',
    '\r\n ',
    '\r\n--b',
    '\r\n--b\r\n',
    'a:\r\n',
    '<',
    ',',
    ' ',
    '"',
    '\r\n\r\n--b\r\nContent-Type: text/plain; format=flowed\r\n\r\nx \r\n',
  ],
  csv: ['"', '""', ',', '\n', '"\n', '\r', ';', 'a'],
  template: ['{{ a }}', '{% if a %}', '{{', '{%', '{{ "', '}}', '<a href=', ' '],
  report: ['(', 'a:\n', ' ', '<', '\n\n', '5.1.1 ', ';', 'Final-Recipient: rfc822;\n'],
}

const secrets = deriveSecrets(SECRET_KEY)
const messageOf = (text: string) =>
  Buffer.from(`From: a@b.example\r\nTo: ${text.slice(0, 60_000)}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${text}`)
const quietly = async (work: () => unknown) => {
  try {
    await work()
  } catch {
    // A refusal is an answer.
  }
}

async function* inPieces(text: string) {
  yield Buffer.from(text)
}

type Reader = { family: keyof typeof FAMILIES; bytes: number; read: (text: string) => unknown }
const READERS: Record<string, Reader> = {
  'text of HTML': { family: 'html', bytes: 10_000, read: readHtml },
  'links of HTML': {
    family: 'html',
    bytes: 10_000,
    read: (text) => labelLinks(text, { untracked: [], labelFor: () => undefined as never }),
  },
  'visible parts of HTML': { family: 'html', bytes: 10_000, read: (text) => readVisible(text, ['token']) },
  'HTML without tracking': { family: 'html', bytes: 10_000, read: (text) => untrackHtml(secrets, text) },
  'a received message': {
    family: 'mime',
    bytes: 10_000,
    read: (text) => PostalMime.parse(messageOf(text), { maxNestingDepth: 50, maxHeadersSize: 262_144 }),
  },
  'a message that is shown': { family: 'mime', bytes: 10_000, read: (text) => readMessage(messageOf(text)) },
  CSV: {
    family: 'csv',
    bytes: 10_000,
    async read(text) {
      for await (const _ of readRecords(inPieces(text), { delimiter: ',', byte: 0, line: 1 }));
    },
  },
  'a template': { family: 'template', bytes: 2_000, read: (text) => prepare(text, { html: true }) },
  'a report': {
    family: 'report',
    bytes: 4_000,
    read: (text) => readReport({ report: { is: 'delivery-status', fields: text, original: '' }, text, headers: {} } as never, ''),
  },
}

const RUNS = 5
const MAX_GROWTH = 6
/** Shorter times are not compared. */
const LEAST_MS = 5

async function cpuMs(work: () => unknown) {
  const before = process.cpuUsage()
  await quietly(work)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const CASES = Object.entries(READERS).flatMap(([name, reader]) => FAMILIES[reader.family]!.map((piece) => [name, piece] as const))

test.each(CASES)('%s: %j takes time by its length', async (name, piece) => {
  const { bytes, read } = READERS[name]!
  const texts = [bytes, 4 * bytes, 16 * bytes].map((size) => piece.repeat(size / piece.length))
  const best = texts.map(() => Number.POSITIVE_INFINITY)
  for (let run = 0; run < RUNS && !isInProportion(best); run++)
    for (const [index, text] of texts.entries()) best[index] = Math.min(best[index]!, await cpuMs(() => read(text)))
  expect(isInProportion(best), `${best.map((ms) => ms.toFixed(1)).join(', ')} ms`).toBe(true)
})

/** At most sixfold a step, over both steps: a collection of garbage may fall into one of them. Quadratic time grows 256-fold. */
const isInProportion = ([small, medium, large]: number[]) =>
  Number.isFinite(large) && (small! >= LEAST_MS ? large! / small! <= MAX_GROWTH ** 2 : medium! < LEAST_MS || large! / medium! <= MAX_GROWTH)
