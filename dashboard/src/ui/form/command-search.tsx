import { Command } from 'cmdk'
import { Search } from 'lucide-react'

type CommandSearchProps = { placeholder: string; value: string; onValue: (value: string) => void }

/** The search field above the choices of a popover. */
export function CommandSearch({ placeholder, value, onValue }: CommandSearchProps) {
  return (
    <div className="flex h-9 shrink-0 items-center gap-2 border-line border-b px-2 pointer-coarse:h-11">
      <Search className="size-4 shrink-0 text-muted" aria-hidden="true" />
      <Command.Input
        autoFocus
        value={value}
        onValueChange={onValue}
        placeholder={placeholder}
        className="h-full min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-muted sm:text-ui"
      />
    </div>
  )
}
