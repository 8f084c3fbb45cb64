import { expect, test, vi } from 'vitest'
import { newId } from '../../../lib/id.ts'
import type { Log } from '../../../lib/process/log.ts'
import { deriveSecrets } from '../../../lib/secrets.ts'
import { readParts } from '../../../mime/compiled/compiled-html.ts'
import { createTracking } from './tracking.ts'

const secrets = deriveSecrets('a master key of more than 32 characters')
const publicUrl = 'https://mail.example'
const error = vi.fn()
const log = { error } as unknown as Log
const email = {
  email: { projectId: newId(), id: newId() },
  content: { type: 'MARKETING' as const },
  tracking: 'ENABLED' as const,
}
const HTML = '<p><a href="https://shop.example/">x</a></p>'

test('an email whose links cannot be signed is sent without tracking, and the error is logged', () => {
  const sign = () => {
    throw new Error('no')
  }
  const track = createTracking({ secrets: { ...secrets, sign }, publicUrl, log })
  expect(track(email, readParts(HTML))).toBe(HTML)
  expect(error).toHaveBeenCalledOnce()
})

test('the same email built twice has the same bytes', () => {
  const track = createTracking({ secrets, publicUrl, log })
  const once = track(email, readParts(HTML))
  expect(once).not.toBe(HTML)
  expect(track(email, readParts(HTML))).toBe(once)
})

test('only the first thousand links are tracked', () => {
  const html = '<a href="https://shop.example/">x</a>'.repeat(1_500)
  const tracked = createTracking({ secrets, publicUrl, log })(email, readParts(html))
  expect(tracked.split('href="https://shop.example/"').length - 1).toBe(500)
})
