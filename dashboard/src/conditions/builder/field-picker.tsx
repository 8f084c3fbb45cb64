import { Command } from 'cmdk'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { Popover } from '../../ui/dialog/popover.tsx'
import { CommandSearch } from '../../ui/form/command-search.tsx'
import { Percent } from '../../ui/text/count.tsx'
import { type FieldCatalog, type FieldChoice, type FoundField, searchFields } from './fields.ts'

type FieldPickerProps = {
  catalog: FieldCatalog
  chosen: FoundField | undefined
  onChoose: (choice: FieldChoice) => void
  describedBy?: string | undefined
}

/** The field of a line, found by a part of its name. */
export function FieldPicker({ catalog, chosen, onChoose, describedBy }: FieldPickerProps) {
  const [open, setOpen] = useState(false)
  const name = chosen?.label ?? 'Choose a field'
  return (
    <Popover
      label="Fields"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <button
          type="button"
          aria-label={`Field: ${name}`}
          aria-describedby={describedBy}
          title={chosen ? `${chosen.group}: ${name}` : undefined}
          className="flex h-11 w-full min-w-0 items-center gap-2 rounded-md border border-edge bg-surface px-3 text-left text-base focus-visible:outline-offset-0 sm:h-9 sm:text-ui"
        >
          <span className={`min-w-0 flex-1 truncate ${chosen ? '' : 'text-muted'}`}>{name}</span>
          <ChevronDown className="size-4 shrink-0 text-muted" aria-hidden="true" />
        </button>
      }
    >
      <Fields
        catalog={catalog}
        onChoose={(choice) => {
          setOpen(false)
          onChoose(choice)
        }}
      />
    </Popover>
  )
}

const ITEM = 'flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 text-ui aria-selected:bg-sunken pointer-coarse:min-h-11'

function Fields({ catalog, onChoose }: Pick<FieldPickerProps, 'catalog' | 'onChoose'>) {
  const [q, setQ] = useState('')
  const groups = searchFields(catalog, q)
  return (
    <Command shouldFilter={false} loop vimBindings={false} label="Fields" className="flex max-h-80 flex-col">
      <CommandSearch placeholder="Search fields" value={q} onValue={setQ} />
      <Command.List label="Fields" className="min-h-0 flex-1 overflow-y-auto">
        <Command.Empty className="px-2 py-4 text-center text-muted text-ui">No field matches.</Command.Empty>
        {groups.map(({ label, choices, hidden, named }) => (
          <Command.Group key={label} heading={<span className="block px-2 pt-2 pb-1 text-muted text-xs">{label}</span>}>
            {choices.map((choice) => (
              <Command.Item key={choice.field} value={`${label} ${choice.field}`} onSelect={() => onChoose(choice)} className={ITEM}>
                <span className="min-w-0 flex-1 truncate" title={choice.label}>
                  {choice.label}
                </span>
                <Aside choice={choice} />
              </Command.Item>
            ))}
            {hidden > 0 && <p className="px-2 py-1 text-muted text-xs">{hidden.toLocaleString()} more: search to find them.</p>}
            {named.map((choice) => (
              <Command.Item key={choice.field} value={`${label} new ${choice.field}`} onSelect={() => onChoose(choice)} className={ITEM}>
                <span className="min-w-0 flex-1 truncate">Use “{choice.label}”</span>
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command>
  )
}

const TYPES: Record<string, string> = { string: 'text', number: 'number', boolean: 'yes or no', date: 'date' }

/** Type and coverage of custom data. */
function Aside({ choice: { type = 'string', coverage } }: { choice: FieldChoice }) {
  if (coverage === undefined) return null
  return (
    <span className="shrink-0 text-muted text-xs">
      {TYPES[type]} · <Percent value={coverage} />
    </span>
  )
}
