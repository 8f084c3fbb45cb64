import { readdirSync, readFileSync } from 'node:fs'

const TICK_MICROS = 10_000
type Process = { pid: number; parent: number; name: string; own: number; reaped: number }

/** User and system time of a process and of all PostgreSQL processes below it, including those that have ended. Linux only. */
export function cpuMicroseconds(pid: number): number {
  const { app, postgres } = cpuSplit(pid)
  return app + postgres
}

/** The same apart: the process itself, and the PostgreSQL processes below it. */
export function cpuSplit(pid: number) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess)
  const server = all.filter((process) => process.pid === pid)
  const postmasters = all.filter((process) => process.parent === pid && process.name === 'postgres')
  const backends = all.filter((process) => postmasters.some((postmaster) => postmaster.pid === process.parent))
  const ticksOf = (processes: Process[]) => processes.reduce((sum, { own }) => sum + own, 0)
  const reaped = postmasters.reduce((sum, { reaped }) => sum + reaped, 0)
  return { app: ticksOf(server) * TICK_MICROS, postgres: (ticksOf([...postmasters, ...backends]) + reaped) * TICK_MICROS }
}

function readProcess(pid: string): Process[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15)
    return [{ pid: Number(pid), parent: fields[1]!, name, own: utime + stime, reaped: cutime + cstime }]
  } catch {
    return [] // it has ended
  }
}

/** Peak resident memory of a process while it is watched, in MB. Linux only. */
export function watchMemory(pid: number) {
  const resident = () => Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)
  const before = resident()
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, resident())), 20)
  return {
    before,
    stop() {
      clearInterval(timer)
      return Math.max(peak, resident())
    },
  }
}
