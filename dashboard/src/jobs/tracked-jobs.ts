import { useSyncExternalStore } from 'react'

/** A job that this user started in this tab. */
export type TrackedJob = {
  id: string
  projectId: string
  kind: 'import' | 'bulk'
  /** What it does: `Import of contacts.csv`, `Unsubscribe 1,204 contacts`. */
  label: string
}

const KEY = 'sterna.jobs'
/** Limit of stored jobs. The oldest are dropped first: finished jobs that the user did not dismiss. */
const MAX_TRACKED = 20

let jobs: TrackedJob[] | undefined
const listeners = new Set<() => void>()

/** Session storage survives a reload and ends with the tab. It holds ids and labels, which need a session to be worth anything. */
function readJobs(): TrackedJob[] {
  if (jobs) return jobs
  try {
    jobs = (JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as TrackedJob[]).slice(-MAX_TRACKED)
  } catch {
    jobs = [] // storage is blocked, or holds something else
  }
  return jobs
}

function writeJobs(next: TrackedJob[]) {
  jobs = next.slice(-MAX_TRACKED)
  try {
    sessionStorage.setItem(KEY, JSON.stringify(jobs))
  } catch {
    // Storage is blocked: the jobs are shown until the page is reloaded.
  }
  for (const listener of listeners) listener()
}

/** Shows a job in the tray until it is dismissed. */
export function trackJob(job: TrackedJob) {
  writeJobs([...readJobs().filter(({ id }) => id !== job.id), job])
}

export function dismissJob(id: string) {
  writeJobs(readJobs().filter((job) => job.id !== id))
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useTrackedJobs = () => useSyncExternalStore(subscribe, readJobs)
