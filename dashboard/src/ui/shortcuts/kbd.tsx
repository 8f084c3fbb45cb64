import { showKeys } from './shortcuts.ts'

export function Kbd({ keys }: { keys: string }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line bg-sunken px-1 font-sans text-muted text-xs">
      {showKeys(keys)}
    </kbd>
  )
}
