import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readMasterKeys } from './master-key.ts'
import { keyNumberOf } from './secrets.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sterna-keys-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

const file = () => join(dataDir, 'secret.key')
const read = (secretKey?: string, ...previousSecretKeys: string[]) => readMasterKeys({ secretKey, previousSecretKeys, dataDir })
const keys = Array.from({ length: 100 }, (_, n) => `a key of at least 32 characters, ${n}`)
const [first, second] = keys as [string, string]
const sameNumber = keys.slice(1).find((key) => keyNumberOf(key) === keyNumberOf(first))!

describe('the master keys', () => {
  test('are the configured ones, the current first, each once', () => {
    expect(read(first, second, first)).toEqual([first, second])
  })

  test('are those of a file, which is created with one', () => {
    const [created] = read()
    expect(created).toMatch(/^[0-9a-f]{64}$/)
    expect(read()).toEqual([created])
    const newer = keys.find((key) => keyNumberOf(key) !== keyNumberOf(created))!
    writeFileSync(file(), `${newer}\n${readFileSync(file(), 'utf8')}`)
    expect(read()).toEqual([newer, created])
  })

  test('must have different numbers', () => {
    expect(() => read(first, sameNumber)).toThrow('have the same key number')
  })

  test('of a damaged file are refused', () => {
    writeFileSync(file(), `${second}\nshort\n`)
    expect(() => read()).toThrow('is damaged')
  })
})
