import type { TemplateListItem } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { foundTemplatesQuery } from '../../../../data/templates.ts'
import { useProject } from '../../../../projects/current.ts'
import { Popover } from '../../../../ui/dialog/popover.tsx'
import { CommandSearch } from '../../../../ui/form/command-search.tsx'
import { useDebouncedValue } from '../../../../ui/form/use-debounced-value.ts'

type TemplateChooserProps = { name: string; isChosen: boolean; onChoose: (template: TemplateListItem) => void }

/** A template, found by a part of its name or subject. */
export function TemplateChooser({ name, isChosen, onChoose }: TemplateChooserProps) {
  const [open, setOpen] = useState(false)
  return (
    <Popover
      label="Templates"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <button
          type="button"
          aria-label={`Template: ${name}`}
          className="flex h-11 w-full min-w-0 items-center gap-2 rounded-md border border-edge bg-surface px-3 text-left text-base focus-visible:outline-offset-0 sm:h-9 sm:text-ui"
        >
          <span className={`min-w-0 flex-1 truncate ${isChosen ? '' : 'text-muted'}`}>{name}</span>
          <ChevronDown className="size-4 shrink-0 text-muted" aria-hidden="true" />
        </button>
      }
    >
      <Templates
        onChoose={(template) => {
          setOpen(false)
          onChoose(template)
        }}
      />
    </Popover>
  )
}

function Templates({ onChoose }: Pick<TemplateChooserProps, 'onChoose'>) {
  const project = useProject()
  const [q, setQ] = useState('')
  const found = useQuery(foundTemplatesQuery(project.id, useDebouncedValue(q.trim(), 200))).data ?? []
  return (
    <Command shouldFilter={false} loop vimBindings={false} label="Templates" className="flex max-h-80 flex-col">
      <CommandSearch placeholder="Search templates" value={q} onValue={setQ} />
      <Command.List label="Templates" className="min-h-0 flex-1 overflow-y-auto">
        <Command.Empty className="px-2 py-4 text-center text-muted text-ui">No template matches.</Command.Empty>
        {found.map((template) => (
          <Command.Item
            key={template.id}
            value={template.id}
            onSelect={() => onChoose(template)}
            className="cursor-pointer rounded-md px-2 py-1.5 text-ui aria-selected:bg-sunken"
          >
            <span className="block truncate">{template.name}</span>
            <span className="block truncate text-muted text-xs">{template.subject}</span>
          </Command.Item>
        ))}
      </Command.List>
    </Command>
  )
}
