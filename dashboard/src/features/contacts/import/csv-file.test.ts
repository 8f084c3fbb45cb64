import { expect, test } from 'vitest'
import { decode, readCsvFile, readRows, splitText } from './csv-file.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => readCsvFile('contacts.csv', bytesOf(text))

test('the columns of a file have their names and their first different values', () => {
  const file = read('email;plan;\r\nada@example.com;pro;x\r\ngrace@example.com;pro;\r\nalan@example.com;"free; for ever";\r\n')
  expect([file.separator, file.encoding, file.isHeaderAdded]).toEqual([';', 'UTF-8', false])
  expect(file.columns).toEqual([
    { name: 'email', samples: ['ada@example.com', 'grace@example.com', 'alan@example.com'] },
    { name: 'plan', samples: ['pro', 'free; for ever'] },
    { name: '', samples: ['x'] },
  ])
})

test.each([
  ['a,b', ','],
  ['a;b;"x,y,z,w"', ';'],
  ['a\tb', '\t'],
  ['a|b', '|'],
  ['alone', ','],
  ['sep=;\na,b;c', ';'],
])('the separator of %j is %j', (text, separator) => {
  expect(read(text).separator).toBe(separator)
})

test('a list without a header gets one, and keeps its first row', async () => {
  const file = read('Ada;ada@example.com\nGrace;grace@example.com')
  expect(file.isHeaderAdded).toBe(true)
  expect(await file.parts[0]!.text()).toBe('column 1;email\nAda;ada@example.com\nGrace;grace@example.com')
  expect(file.columns[1]).toEqual({ name: 'email', samples: ['ada@example.com', 'grace@example.com'] })
})

test('the encoding is detected: UTF-8, UTF-16 with and without a mark, else Windows-1252', () => {
  const utf16 = new Uint8Array(Buffer.from('email,é', 'utf16le'))
  expect(decode(bytesOf('é'))).toEqual({ text: 'é', encoding: 'UTF-8' })
  expect(decode(new Uint8Array([0xff, 0xfe, ...utf16]))).toEqual({ text: 'email,é', encoding: 'UTF-16' })
  expect(decode(utf16)).toEqual({ text: 'email,é', encoding: 'UTF-16' })
  expect(decode(new Uint8Array([0x65, 0xe9]))).toEqual({ text: 'eé', encoding: 'Windows-1252' })
})

test('quotes, line breaks in cells and blank rows are read, up to a number of rows', () => {
  expect(readRows('a,"b ""x""\ny"\n\n , \nc,d\ne,f', ',', 2)).toEqual([
    ['a', 'b "x"\ny'],
    ['c', 'd'],
  ])
  expect(readRows('a,"never closed\nb', ',', 9)).toEqual([['a', 'never closed\nb']])
  expect(readRows('', ',', 9)).toEqual([])
})

test('a large file is split between rows, with its header on top of each part', () => {
  const text = 'email,a\r\na@x.y,"1\n1"\r\nb@x.y,2\r\nc@x.y,é'
  const parts = splitText(text, 0, 30)
  expect(parts).toEqual(['email,a\r\na@x.y,"1\n1"\r\n', 'email,a\r\nb@x.y,2\r\nc@x.y,é'])
  expect(splitText(text, 0, 1_000)).toEqual([text])
  expect(splitText(text, 0, 1)).toHaveLength(3)
  expect(splitText('sep=,\nemail\na@x.y\nb@x.y', 6, 18)).toEqual(['sep=,\nemail\na@x.y\n', 'sep=,\nemail\nb@x.y'])
})

test('a file that is too large for one upload is uploaded in parts', () => {
  const rows = Array.from({ length: 100 }, (_, index) => `person${index}@example.com,é😀`)
  const { parts, bytes } = readCsvFile('large.csv', bytesOf(`email,a\n${rows.join('\n')}`), 1_000)
  expect(parts.length).toBeGreaterThan(2)
  expect(Math.max(...parts.map(({ size }) => size))).toBeLessThanOrEqual(1_000)
  expect(parts.reduce((sum, { size }) => sum + size, 0)).toBe(bytes + 'email,a\n'.length * (parts.length - 1))
})
