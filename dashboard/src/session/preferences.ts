import { useQuery } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { meQuery } from '../data/account.ts'

const listeners = new Set<() => void>()

const read = (key: string): string | null => {
  try {
    return localStorage.getItem(key)
  } catch {
    return memory.get(key) ?? null // storage is blocked
  }
}

const memory = new Map<string, string>()

function write(key: string, value: string) {
  memory.set(key, value)
  try {
    localStorage.setItem(key, value)
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}

/** A preference of this user for a page, such as its columns. Kept in this browser, and apart from other users of it. */
export function usePreference<T>(name: string, initial: T): [T, (value: T) => void] {
  const userId = useQuery(meQuery).data?.id ?? ''
  const key = `sterna.${userId}.${name}`
  const stored = useSyncExternalStore(subscribe, () => read(key))
  const set = useCallback((value: T) => write(key, JSON.stringify(value)), [key])
  return [parse(stored) ?? initial, set]
}

function parse<T>(stored: string | null): T | undefined {
  try {
    // Written by `set` above, with the type of the same preference.
    return stored === null ? undefined : (JSON.parse(stored) as T)
  } catch {
    return undefined
  }
}
