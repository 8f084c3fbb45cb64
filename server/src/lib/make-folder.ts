import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** One by one: Node's own `recursive` turns in circles for ever where mkdir says ENOENT below a folder that exists, as /proc does. */
export function makeFolder(path: string, mode?: number) {
  if (isFolder(path)) return
  makeFolder(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
  } catch (err) {
    if (!isFolder(path)) throw err // else another start was faster
  }
}

const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory()

/** What there is of a path that may not be there yet: looking must not create it. */
export const nearestFolder = (path: string): string => (existsSync(path) ? path : nearestFolder(dirname(path)))
