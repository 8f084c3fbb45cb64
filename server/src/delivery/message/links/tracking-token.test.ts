import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '../../../lib/id.ts'
import { deriveSecrets } from '../../../lib/secrets.ts'
import { readClickToken, readOpenToken, sharedEmailToken, sharedTargetToken, TOKEN_LENGTHS, tokensFor } from './tracking-token.ts'

const secrets = deriveSecrets('a master key of more than 32 characters')
const email = { projectId: newId(), emailId: newId() }
const [content, other] = ['019a0000-0000-7000-8000-0123456789ab', '019a0000-0000-7000-8000-ba9876543210'] as const
const shared = (contentId: string, link: number, target: string) =>
  sharedEmailToken(secrets, { ...email, contentId }) + sharedTargetToken(secrets, contentId, link, target)

test('a token of either kind names the email, the link and the exact target', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.oneof(fc.webUrl(), fc.constant(''), fc.string({ unit: 'grapheme' })), (link, target) => {
      expect(readClickToken(secrets, shared(content, link, target))).toEqual({ ...email, link, target })
      expect(readClickToken(secrets, tokensFor(secrets, email).click(link, target))).toEqual({ ...email, link, target })
    }),
  )
  expect(sharedEmailToken(secrets, { ...email, contentId: content })).toHaveLength(TOKEN_LENGTHS.email)
  expect(tokensFor(secrets, email).open()).toHaveLength(TOKEN_LENGTHS.open)
})

test('a token that was changed anywhere is none, nor is one of another key', () => {
  const token = shared(content, 3, 'https://shop.example/?a=1')
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
    expect(readClickToken(secrets, changed)).toBeUndefined()
    expect(readClickToken(secrets, token.slice(0, at))).toBeUndefined()
  }
  expect(readClickToken(secrets, `${token}A`)).toBeUndefined()
  expect(readClickToken(deriveSecrets('another master key of more than 32 characters'), token)).toBeUndefined()
})

test('a target fits only emails of its content, and a token of an email alone opens nothing', () => {
  const ofEmail = sharedEmailToken(secrets, { ...email, contentId: content })
  expect(readClickToken(secrets, ofEmail + sharedTargetToken(secrets, other, 1, 'https://shop.example/'))).toBeUndefined()
  expect(readClickToken(secrets, ofEmail)).toBeUndefined()
  expect(readOpenToken(secrets, ofEmail)).toBeUndefined()
})
