import { expect, test } from 'vitest'
import { createDoor } from './upload-limit.ts'

test('a door closes for one project before it closes for all, and opens again', async () => {
  const enter = createDoor({ inside: 3, ofOneProject: 2 })
  const refused = { code: 'SERVICE_UNAVAILABLE', retryAfter: 2 }
  const end: (() => void)[] = []
  const until = (name: string) => () => new Promise<string>((done) => end.push(() => done(name)))
  const inside = [enter('one', until('a')), enter('one', until('b'))]
  await expect(enter('one', async () => 'c')).rejects.toMatchObject(refused)
  const other = enter('two', () => until('bad')().then((name) => Promise.reject(name))).catch((name) => name)
  await expect(enter('three', async () => 'c')).rejects.toMatchObject(refused)
  end[2]!()
  expect(await other).toBe('bad')
  await expect(enter('one', async () => 'c')).rejects.toMatchObject(refused)
  expect(await enter('three', async () => 'c')).toBe('c')
  end[0]!()
  end[1]!()
  expect(await Promise.all(inside)).toEqual(['a', 'b'])
  expect(await enter('one', async () => 'c')).toBe('c')
})
