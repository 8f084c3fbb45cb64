import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NO_WORDS, readYesOrNo, YES_WORDS } from './csv-words.ts'

const docs = readFileSync(new URL('../../../../docs/contacts.md', import.meta.url), 'utf8')
/** The words on the line after the one that ends with this text. */
const documented = (introduction: string) => {
  const line = docs.slice(docs.indexOf(introduction) + introduction.length).split('\n')[1]!
  return [...line.matchAll(/`([^`]+)`/g)].map(([, word]) => word)
}

test('the documentation lists every word for yes and no in the column subscribed', () => {
  expect(documented('with or without accents:')).toEqual(YES_WORDS)
  expect(documented('These mean no:')).toEqual(NO_WORDS)
})

test('no word means both yes and no', () => {
  expect(YES_WORDS.map(readYesOrNo)).toEqual(YES_WORDS.map(() => true))
  expect(NO_WORDS.map(readYesOrNo)).toEqual(NO_WORDS.map(() => false))
})

test('words are recognised in any case, with and without accents, with hyphens or underscores', () => {
  expect([' SÍ ', 'si', 'Kylla', 'OPT-IN', 'Opted_In', '１'].map(readYesOrNo)).toEqual(Array(6).fill(true))
  expect(['NÃO', 'nao', 'HAYIR', 'Opt-Out', 'NEVER_SUBSCRIBED', '０'].map(readYesOrNo)).toEqual(Array(6).fill(false))
  expect(['', '-1', '2', 'maybe', 'yes no'].map(readYesOrNo)).toEqual(Array(5).fill(undefined))
})
