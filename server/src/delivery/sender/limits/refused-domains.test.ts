import { describe, expect, test } from 'vitest'
import { createRefusedDomains } from './refused-domains.ts'

const SENDER = { projectId: 'a', domain: 'a.example' }
const ready = (projectId: string, domain = 'a.example') => ({ email: { projectId }, domain })

function start() {
  let time = 0
  const domains = createRefusedDomains(() => time)
  const begin = (count: number) => {
    const emails = Array.from({ length: count }, () => ({}))
    for (const email of emails) domains.began(email, SENDER)
    return emails
  }
  const pass = (ms: number) => {
    time += ms
  }
  return { ...domains, begin, pass, may: (other = ready('a')) => domains.mayLeave()?.(other) ?? true }
}

describe('a sender domain', () => {
  test('has any number of emails on the wire until one is refused, then five, until one is accepted', () => {
    const { begin, ended, refused, accepted, may } = start()
    const emails = begin(34)
    expect(may()).toBe(true)
    refused(SENDER, false)
    expect(may()).toBe(false)
    for (const email of emails.slice(5)) ended(email)
    expect(may()).toBe(false)
    ended(emails[0]!)
    expect(may()).toBe(true)
    begin(1)
    expect(may()).toBe(false)
    accepted(SENDER)
    expect(may()).toBe(true)
  })

  test('has one after five refusals; those that were held already do not count', () => {
    const { begin, refused, may } = start()
    for (let count = 0; count < 9; count++) refused(SENDER, true)
    begin(4)
    expect(may()).toBe(true)
    for (let count = 0; count < 4; count++) refused(SENDER, false)
    expect(may()).toBe(false)
  })

  test('does not wait for a slow reply for ever, and leaves other domains and projects alone', () => {
    const { begin, refused, may, isOnWire, onWire, pass } = start()
    begin(1)
    for (let count = 0; count < 5; count++) refused(SENDER, false)
    expect([may(), may(ready('a', 'b.example')), may(ready('b'))]).toEqual([false, true, true])
    expect([isOnWire(SENDER), onWire()]).toEqual([true, [SENDER]])
    pass(10_000)
    expect([may(), isOnWire(SENDER), onWire()]).toEqual([true, false, []])
  })

  test('was accepted lately for a minute', () => {
    const { accepted, wasAcceptedLately, pass } = start()
    expect(wasAcceptedLately(SENDER)).toBe(false)
    accepted(SENDER)
    expect(wasAcceptedLately(SENDER)).toBe(true)
    pass(60_000)
    expect(wasAcceptedLately(SENDER)).toBe(false)
  })
})
