import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Ellipsis, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { eventCountsQuery, eventUsageQuery, invalidateEvents } from '../../data/events.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Confirm } from '../../ui/dialog/dialog.tsx'
import { Menu, MenuItem } from '../../ui/dialog/menu.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { IconButton } from '../../ui/form/button.tsx'
import { Count, countOf } from '../../ui/text/count.tsx'
import { isReserved } from './reserved.ts'

/** Names beyond this are found with the filter. */
const MAX_LISTED = 100

type EventNamesProps = { chosen: string | undefined; onChoose: (name: string | undefined) => void }

/** The names of events with their counts of 30 days: first the events that the project tracks, then the ones that Sterna records. */
export function EventNames({ chosen, onChoose }: EventNamesProps) {
  const project = useProject()
  const names = useQuery(eventCountsQuery(project.id))
  const [deleting, setDeleting] = useState<string>()
  if (!names.data?.length) return <div className="hidden lg:block" />
  const listed = names.data.slice(0, MAX_LISTED)
  const [own, reserved] = [listed.filter(({ name }) => !isReserved(name)), listed.filter(({ name }) => isReserved(name))]
  return (
    <nav
      aria-label="Event names"
      className="hidden max-h-[calc(100dvh-3.5rem)] overflow-y-auto border-line border-r p-2 lg:sticky lg:top-14 lg:block"
    >
      <p className="flex justify-between px-2 py-2 text-muted text-xs">
        Name <span>30 days</span>
      </p>
      <ul className="space-y-px">
        <li>
          <NameButton label="All events" isChosen={!chosen} onClick={() => onChoose(undefined)} />
        </li>
        {own.map(({ name, count }) => (
          <li key={name} className="group/name relative">
            <NameButton label={name} count={count} isChosen={chosen === name} onClick={() => onChoose(name)} />
            <NameMenu name={name} onDelete={() => setDeleting(name)} />
          </li>
        ))}
      </ul>
      {reserved.length > 0 && (
        <>
          <p className="px-2 pt-4 pb-2 text-muted text-xs">Recorded by Sterna</p>
          <ul className="space-y-px">
            {reserved.map(({ name, count }) => (
              <li key={name}>
                <NameButton label={name} count={count} isChosen={chosen === name} onClick={() => onChoose(name)} />
              </li>
            ))}
          </ul>
        </>
      )}
      {deleting && <DeleteName name={deleting} onClose={() => setDeleting(undefined)} onDeleted={() => onChoose(undefined)} />}
    </nav>
  )
}

type NameButtonProps = { label: string; count?: number; isChosen: boolean; onClick: () => void }

function NameButton({ label, count, isChosen, onClick }: NameButtonProps) {
  return (
    <button
      type="button"
      aria-current={isChosen || undefined}
      onClick={onClick}
      title={label}
      className="flex h-8 w-full items-center gap-2 rounded-md px-2 text-left text-ui hover:bg-sunken aria-[current=true]:bg-accent-soft aria-[current=true]:font-medium"
    >
      <span className="min-w-0 flex-1 truncate">{label}</span>
      {count !== undefined && (
        <Count
          value={count}
          className="text-muted text-xs group-has-[[data-state=open]]/name:invisible group-hover/name:not-first:invisible"
        />
      )}
    </button>
  )
}

function NameMenu({ name, onDelete }: { name: string; onDelete: () => void }) {
  return (
    <span className="absolute inset-y-0 right-1 flex items-center opacity-0 focus-within:opacity-100 group-hover/name:opacity-100 has-data-[state=open]:opacity-100">
      <Menu
        align="end"
        trigger={
          <IconButton label={`Actions for ${name}`} className="size-6 bg-sunken">
            <Ellipsis />
          </IconButton>
        }
      >
        <MenuItem onSelect={onDelete}>
          <Trash2 aria-hidden="true" />
          Delete all {name} events…
        </MenuItem>
      </Menu>
    </span>
  )
}

function DeleteName({ name, onClose, onDeleted }: { name: string; onClose: () => void; onDeleted: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const usage = useQuery(eventUsageQuery(project.id, name)).data
  const uses = usage ? [...usage.usedInSegments, ...usage.usedInCampaigns, ...usage.usedInWorkflows].map((use) => use.name) : []

  async function remove() {
    const { deletedCount } = await api.events.delete(name)
    onDeleted()
    await invalidateEvents(queries, project.id)
    toast(`${countOf(deletedCount, { one: 'event', many: 'events' })} deleted`)
  }
  return (
    <Confirm
      title={`Delete all ${name} events?`}
      description={
        usage
          ? `${countOf(usage.totalCount, { one: 'event', many: 'events' })} of ${countOf(usage.uniqueContacts, { one: 'contact', many: 'contacts' })} will be deleted permanently.${uses.length > 0 ? ` Used in ${uses.join(', ')}.` : ''}`
          : 'Counting the events…'
      }
      action="Delete events"
      phrase={name}
      onConfirm={remove}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
