import { useCallback, useSyncExternalStore } from 'react'

/** A job that was started in this browser: its result is shown until it is dismissed. */
export type OwnJob = {
  id: string
  /** Its name: `Import of contacts.csv`, `Unsubscribe 1,204 contacts`. */
  label: string
}

const keyOf = (projectId: string) => `sterna.jobs.${projectId}`
/** Limit of stored jobs. The oldest are dropped first: finished jobs that the user did not dismiss. */
const MAX_OWN = 20
const NONE: OwnJob[] = []

/** As read last, by project: a new array for the same jobs would render for ever. */
const read = new Map<string, { text: string | null; jobs: OwnJob[] }>()
const listeners = new Set<() => void>()

/** Ids and labels only: without a session they are worth nothing. Shared by all tabs. */
function readJobs(projectId: string): OwnJob[] {
  const text = readText(projectId)
  const known = read.get(projectId)
  if (known && known.text === text) return known.jobs
  const jobs = parse(text)
  read.set(projectId, { text, jobs })
  return jobs
}

function readText(projectId: string): string | null {
  try {
    return localStorage.getItem(keyOf(projectId))
  } catch {
    return read.get(projectId)?.text ?? null // storage is blocked
  }
}

function parse(text: string | null): OwnJob[] {
  try {
    return text === null ? NONE : (JSON.parse(text) as OwnJob[]) // written below
  } catch {
    return NONE
  }
}

function writeJobs(projectId: string, jobs: OwnJob[]) {
  const text = JSON.stringify(jobs.slice(-MAX_OWN))
  try {
    localStorage.setItem(keyOf(projectId), text)
  } catch {
    // Storage is blocked: the jobs are shown until the page is reloaded.
    read.set(projectId, { text, jobs: jobs.slice(-MAX_OWN) })
  }
  for (const listener of listeners) listener()
}

/** Shows a job in the tray, in every tab, until it is dismissed. */
export function trackJob(projectId: string, job: OwnJob) {
  writeJobs(projectId, [...readJobs(projectId).filter(({ id }) => id !== job.id), job])
}

export function dismissJob(projectId: string, id: string) {
  writeJobs(
    projectId,
    readJobs(projectId).filter((job) => job.id !== id),
  )
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}

export const useOwnJobs = (projectId: string) =>
  useSyncExternalStore(
    subscribe,
    useCallback(() => readJobs(projectId), [projectId]),
  )
