import { expect, test } from 'vitest'
import { toCsv } from './csv.ts'

test('cells are quoted where needed, and formulas are only text', () => {
  const rows = [
    ['a,b', 1, null],
    ['say "hi"', -2.5, '=1+1'],
  ]
  expect(toCsv(['name', 'n', 'x'], rows)).toBe('name,n,x\r\n"a,b",1,\r\n"say ""hi""",-2.5,\'=1+1')
})
