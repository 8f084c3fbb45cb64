import { useEffect, useRef, useSyncExternalStore } from 'react'

export type Shortcut = {
  /** One key (`x`, `/`, `?`, `Escape`, `Space`), two in a row (`g c`), or one with ⌘ or Ctrl (`mod+k`). */
  keys: string
  /** Listed on the sheet of shortcuts; without it the shortcut works but is not listed. */
  label?: string
  group?: string
  /** Returns false if the key was not meant for it, so that the next shortcut gets it. */
  run: (event: KeyboardEvent) => unknown
}

/** The last mounted component comes first: a panel handles Escape before the page below it. */
let layers: Shortcut[][] = []
const listeners = new Set<() => void>()
/** The first key of a sequence waits this long for the second. */
const SEQUENCE_MS = 1_000
let pending: { key: string; at: number } | undefined

const OFF = 'shortcuts'

/** Registers shortcuts while the component is mounted. */
export function useShortcuts(shortcuts: Shortcut[]) {
  const current = useRef(shortcuts)
  current.current = shortcuts
  const names = shortcuts.map(({ keys, label }) => `${keys} ${label}`).join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: registered again only when the keys change, not on every render
  useEffect(() => {
    const layer = current.current.map((shortcut, index) => ({
      ...shortcut,
      run: (event: KeyboardEvent) => current.current[index]?.run(event),
    }))
    layers = [layer, ...layers]
    runAwaited(layer)
    if (layers.length === 1) window.addEventListener('keydown', handleKey)
    notify()
    return () => {
      layers = layers.filter((each) => each !== layer)
      if (layers.length === 0) window.removeEventListener('keydown', handleKey)
      notify()
    }
  }, [names])
}

/** A page that is loaded slowly is not waited for: a dialog would open while the user does something else. */
const AWAITED_MS = 5_000
let awaited: { keys: string; until: number } | undefined

/** Presses the key as soon as a page has a shortcut for it. For commands on pages that are yet to be opened. */
export function pressWhenRegistered(keys: string) {
  awaited = { keys, until: Date.now() + AWAITED_MS }
}

function runAwaited(layer: Shortcut[]) {
  const found = awaited && Date.now() < awaited.until && layer.find(({ keys }) => keys === awaited?.keys)
  if (!found) return
  const { keys } = found
  awaited = undefined
  found.run(new KeyboardEvent('keydown', { key: keys }))
}

function notify() {
  listed = undefined
  for (const listener of listeners) listener()
}

let listed: Shortcut[] | undefined
const listShortcuts = () =>
  (listed ??= layers
    .toReversed()
    .flat()
    .filter(({ label }) => label))

/** The shortcuts of this page that have a label. */
export function useListedShortcuts(): Shortcut[] {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, listShortcuts)
}

function handleKey(event: KeyboardEvent) {
  if (event.defaultPrevented || event.isComposing) return
  const key = keyNameOf(event)
  if (!key) return
  const withModifier = key.startsWith('mod+')
  if (!withModifier && (isTyping(event.target) || isInPopup(event.target) || !areShortcutsOn())) return
  const sequence = pending && event.timeStamp - pending.at < SEQUENCE_MS ? `${pending.key} ${key}` : undefined
  pending = undefined
  for (const wanted of sequence ? [sequence, key] : [key]) {
    for (const { keys, run } of layers.flat()) {
      if (keys !== wanted || run(event) === false) continue
      event.preventDefault()
      return
    }
  }
  if (layers.flat().some(({ keys }) => keys.startsWith(`${key} `))) pending = { key, at: event.timeStamp }
}

type Pressed = Pick<KeyboardEvent, 'key' | 'metaKey' | 'ctrlKey' | 'altKey'>

/** The name of a key press as shortcuts write it; undefined for combinations that shortcuts do not use. */
export function keyNameOf({ key, metaKey, ctrlKey, altKey }: Pressed): string | undefined {
  if (altKey) return undefined
  const name = key === ' ' ? 'Space' : key.length === 1 ? key.toLowerCase() : key
  return metaKey || ctrlKey ? `mod+${name}` : name
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable) return true
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}

/** Dialogs and menus have keys of their own. */
const isInPopup = (target: EventTarget | null) =>
  target instanceof Element && target.closest('[role=dialog],[role=menu],[role=listbox]') !== null

export function areShortcutsOn(): boolean {
  try {
    return localStorage.getItem(OFF) !== 'off'
  } catch {
    return true // storage is blocked
  }
}

/** Single keys can get in the way of speech input, so that a user can turn them off (WCAG 2.1.4). */
export function turnShortcuts(on: boolean) {
  try {
    if (on) localStorage.removeItem(OFF)
    else localStorage.setItem(OFF, 'off')
  } catch {
    // Storage is blocked: shortcuts stay on.
  }
  notify()
}

const isMac = () => /Mac|iPhone|iPad/.test(navigator.platform)

/** Keys as shown to the user: `⌘K`, `Ctrl+K`, `G then C`. */
export function showKeys(keys: string, mac = isMac()): string {
  return keys
    .split(' ')
    .map((key) => {
      if (!key.startsWith('mod+')) return key.length === 1 ? key.toUpperCase() : key === 'Escape' ? 'Esc' : key
      const name = key.slice(4) === 'Enter' ? '↵' : key.slice(4).toUpperCase()
      return mac ? `⌘${name}` : `Ctrl+${name}`
    })
    .join(' then ')
}
