import { dirname, join } from 'node:path'

export type Source = { file: string; code: string }

/**
 * The sub-folders of every folder that has any, lowest first; those in a list of their own are side by side, and do not import each other. The
 * folder's own files are above all of them. The name of the root is ''.
 */
export type Rooms = Record<string, (string | string[])[]>

export const importsOf = ({ file, code }: Source) =>
  [...code.matchAll(/(?: from |import\()'(\.\.?\/[^']+)'/g)].map(([, target]) => join(dirname(file), target!))

/** Folders whose sub-folders are not those in the list, or that have no list. */
export function unlistedRooms(files: Source[], rooms: Rooms) {
  const found = new Map<string, Set<string>>()
  for (const { file } of files) {
    const path = file.split('/').slice(0, -1)
    for (const [depth, name] of path.entries()) {
      const folder = path.slice(0, depth).join('/')
      found.set(folder, (found.get(folder) ?? new Set()).add(name))
    }
  }
  const namesOf = (names: Iterable<string>) => [...names].sort().join(', ') || 'none'
  return [...new Set([...found.keys(), ...Object.keys(rooms)])]
    .map((folder) => ({ folder, exist: namesOf(found.get(folder) ?? []), listed: namesOf((rooms[folder] ?? []).flat()) }))
    .filter(({ exist, listed }) => exist !== listed)
    .map(({ folder, exist, listed }) => `sub-folders of '${folder}': ${exist}; listed: ${listed}`)
}

/** Imports of a sub-folder from one that is not below it, or from the own files of a folder above. */
export const upwardImports = (files: Source[], rooms: Rooms) =>
  files.flatMap((source) =>
    importsOf(source)
      .filter((target) => isUpward(source.file.split('/'), target.split('/'), rooms))
      .map((target) => `${source.file} -> ${target}`),
  )

/** Both are ranked in the deepest folder that holds them. */
function isUpward(from: string[], to: string[], rooms: Rooms) {
  let depth = 0
  while (depth < Math.min(from.length, to.length) - 1 && from[depth] === to[depth]) depth++
  const order = rooms[from.slice(0, depth).join('/')] ?? []
  const isOwn = (path: string[]) => path.length === depth + 1
  const rankOf = (path: string[]) => (isOwn(path) ? order.length : order.findIndex((names) => [names].flat().includes(path[depth]!)))
  return !(isOwn(from) && isOwn(to)) && rankOf(to) >= rankOf(from)
}
