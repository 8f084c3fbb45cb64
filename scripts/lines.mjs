// Compares the lines of server code of two commits, room by room: `npm run lines -- <old commit> [<new commit>]`. Without a new commit: the
// files as they are. Each side is counted as a whole, so code that moved counts where it is. Tests, migrations and generated files do not count.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const SRC = 'server/src/'
const GENERATED = [`${SRC}db/schema.ts`]

const git = (args, input) => execFileSync('git', args, { cwd: ROOT, input, maxBuffer: 1e9 })
const namesIn = (output) => output.toString().split('\0').filter(isCounted)
const isCounted = (file) =>
  /\.(ts|mjs)$/.test(file) && !/\.test\.ts$/.test(file) && !file.includes('/migrations/') && !GENERATED.includes(file)

/** Every file is one blob of a batch: `<id> <type> <size>`, a line feed, the bytes, a line feed. */
function filesOf(commit) {
  const names = namesIn(git(['ls-tree', '-rz', '--name-only', commit, SRC]))
  const batch = git(['cat-file', '--batch'], names.map((name) => `${commit}:${name}\n`).join(''))
  let at = 0
  return names.map((name) => {
    const start = batch.indexOf('\n', at) + 1
    const size = Number(batch.toString('utf8', at, start).split(' ').at(-1))
    at = start + size + 1
    return { name, bytes: batch.subarray(start, start + size) }
  })
}

const filesOnDisk = () =>
  namesIn(git(['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate', SRC])).flatMap((name) => {
    try {
      return { name, bytes: readFileSync(join(ROOT, name)) }
    } catch (error) {
      if (error.code === 'ENOENT') return []
      throw error
    }
  })

const linesOf = (bytes) => bytes.reduce((lines, byte) => lines + (byte === 10), 0)

/** A folder of `server/src`, or its files. */
function roomOf(name) {
  const [room, ...rest] = name.slice(SRC.length).split('/')
  return rest.length ? room : '(files at the top)'
}

function linesByRoom(files) {
  const rooms = new Map()
  for (const { name, bytes } of files) rooms.set(roomOf(name), (rooms.get(roomOf(name)) ?? 0) + linesOf(bytes))
  return rooms
}

const [oldCommit, newCommit] = process.argv.slice(2)
if (!oldCommit) throw new Error('Usage: npm run lines -- <old commit> [<new commit>]')
const before = filesOf(oldCommit)
const after = newCommit ? filesOf(newCommit) : filesOnDisk()

const print = (room, from, to, files = '') => {
  const change = to - from
  console.log(
    `${room.padEnd(20)}${String(from).padStart(8)}${String(to).padStart(8)}${`${change > 0 ? '+' : ''}${change}`.padStart(8)}${files}`,
  )
}
const [was, is] = [linesByRoom(before), linesByRoom(after)]
console.log(`${'room'.padEnd(20)}${'before'.padStart(8)}${'after'.padStart(8)}${'change'.padStart(8)}`)
for (const room of [...new Set([...was.keys(), ...is.keys()])].sort()) print(room, was.get(room) ?? 0, is.get(room) ?? 0)
const sum = (rooms) => [...rooms.values()].reduce((total, lines) => total + lines, 0)
print('all', sum(was), sum(is), `  (${before.length} → ${after.length} files)`)
