import { Kbd } from '../shortcuts/kbd.tsx'
import { areShortcutsOn, type Shortcut, useListedShortcuts } from '../shortcuts/shortcuts.ts'
import { Dialog } from './dialog.tsx'

type SheetProps = { open: boolean; onOpenChange: (open: boolean) => void }

/** The shortcuts that work on this page. */
export function ShortcutSheet({ open, onOpenChange }: SheetProps) {
  return (
    <Dialog
      title="Keyboard shortcuts"
      description={areShortcutsOn() ? 'They work whenever you are not typing.' : 'Single keys are turned off in your account menu.'}
      open={open}
      onOpenChange={onOpenChange}
    >
      <Groups />
    </Dialog>
  )
}

function Groups() {
  const shortcuts = useListedShortcuts()
  const groups = new Map<string, Shortcut[]>()
  for (const shortcut of shortcuts) groups.set(shortcut.group ?? '', [...(groups.get(shortcut.group ?? '') ?? []), shortcut])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that the keyboard can scroll it
    <div className="max-h-[60dvh] space-y-4 overflow-y-auto" tabIndex={0}>
      {[...groups].map(([group, listed]) => (
        <Group key={group} name={group} shortcuts={listed} />
      ))}
    </div>
  )
}

function Group({ name, shortcuts }: { name: string; shortcuts: Shortcut[] }) {
  const unique = [...new Map(shortcuts.map((shortcut) => [shortcut.keys, shortcut])).values()]
  return (
    <section>
      <h3 className="mb-1 text-muted text-xs">{name}</h3>
      <ul className="divide-y divide-line">
        {unique.map(({ keys, label }) => (
          <li key={keys} className="flex min-h-8 items-center justify-between gap-4 text-ui">
            {label}
            <Kbd keys={keys} />
          </li>
        ))}
      </ul>
    </section>
  )
}
