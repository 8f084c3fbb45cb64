import { expect, test } from 'vitest'
import { createUploadLimit } from './upload-limit.ts'

test('the limit of a project is reached before the limit of all, and finished uploads free their slots', async () => {
  const upload = createUploadLimit({ total: 3, perProject: 2 })
  const refused = { code: 'SERVICE_UNAVAILABLE', retryAfter: 2 }
  const end: (() => void)[] = []
  const until = (name: string) => () => new Promise<string>((done) => end.push(() => done(name)))
  const running = [upload('one', until('a')), upload('one', until('b'))]
  await expect(upload('one', async () => 'c')).rejects.toMatchObject(refused)
  const other = upload('two', () => until('bad')().then((name) => Promise.reject(name))).catch((name) => name)
  await expect(upload('three', async () => 'c')).rejects.toMatchObject(refused)
  end[2]!()
  expect(await other).toBe('bad')
  await expect(upload('one', async () => 'c')).rejects.toMatchObject(refused)
  expect(await upload('three', async () => 'c')).toBe('c')
  end[0]!()
  end[1]!()
  expect(await Promise.all(running)).toEqual(['a', 'b'])
  expect(await upload('one', async () => 'c')).toBe('c')
})
