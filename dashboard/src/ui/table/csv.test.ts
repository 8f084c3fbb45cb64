import { expect, test } from 'vitest'
import { toCsv } from './csv.ts'

test('cells are quoted where needed, and formulas are only text', () => {
  const rows = [
    ['a,b', 1, null],
    ['say "hi"', -2.5, '=1+1'],
  ]
  expect(toCsv(['x'], [['\n=1'], [' @a'], ['＝1'], ['\u3000＋1'], [' a = b']])).toBe(
    "x\r\n\"'\n=1\"\r\n' @a\r\n'＝1\r\n'\u3000＋1\r\n a = b",
  )
  expect(toCsv(['name', 'n', 'x'], rows)).toBe('name,n,x\r\n"a,b",1,\r\n"say ""hi""",-2.5,\'=1+1')
})
