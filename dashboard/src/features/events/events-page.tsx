import type { Event } from '@sterna/sdk'
import { Zap } from 'lucide-react'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { ContactLink } from '../../people/contact-link.tsx'
import { useProject } from '../../projects/current.ts'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { CodeBlock, CopyText } from '../../ui/text/copy-field.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Time } from '../../ui/text/time.tsx'
import { ChosenEvent } from './chosen-event.tsx'
import { dataKeysOf, showKey } from './data-keys.ts'
import { EventNames } from './event-names.tsx'
import { TrackTestEvent } from './track-test-event.tsx'

type ListedEvent = Event & { contact: { id: string; email: string } | null }

const FILTERS: Filter[] = [{ name: 'event', label: 'Name', kind: 'text', hint: 'The exact name' }]
const LIVE_MS = 5_000

export function EventsPage() {
  const { public: publicKey } = useProject()
  const list = useList<ListedEvent>({
    name: 'events',
    filters: FILTERS,
    load: (api, { limit, cursor, filters }) =>
      api.events.list({ limit, ...(cursor && { cursor }), ...(filters.event && { eventName: filters.event }) }),
    rowId,
    live: LIVE_MS,
  })
  const key = publicKey ?? '$STERNA_PUBLIC_KEY'
  return (
    <ListPage
      title="Events"
      noun={{ one: 'event', many: 'events' }}
      list={list}
      columns={columnsOf(list.request.filters.event ? list.rows : undefined)}
      rowLabel={({ name, contact }) => (contact ? `${name} of ${contact.email}` : name)}
      peek={(_, event) => (event ? <EventDetails event={event} /> : <p className="text-muted text-ui">This event is not on this page.</p>)}
      actions={<TrackTestEvent />}
      call={curl('GET', '/events')}
      above={list.request.filters.event && <ChosenEvent name={list.request.filters.event} />}
      aside={<EventNames chosen={list.request.filters.event} onChoose={(name) => list.change({ event: name })} />}
      firstRun={
        <FirstRun
          icon={Zap}
          title="Waiting for the first event…"
          action={<TrackTestEvent />}
          call={{
            title: 'From your app, with the public key',
            code: curl('POST', '/v1/track', { key, body: { email: 'ada@example.com', event: 'signup', data: { plan: 'pro' } } }),
          }}
        >
          Something that happened to one of your people: a sign-up, a purchase, a trial that ends. Events start workflows and select people.
          This page shows the first one as soon as it arrives.
        </FirstRun>
      }
    />
  )
}

const rowId = ({ id }: ListedEvent) => id

/** Events of one name have similar data: its keys are columns. */
const columnsOf = (rows: ListedEvent[] | undefined): Column<ListedEvent>[] => {
  const keys = dataKeysOf(rows ?? [])
  return [NAME, CONTACT, ...(keys.length > 0 ? keys.map(dataColumn) : [DATA]), TIME]
}

const dataColumn = (key: string): Column<ListedEvent> => ({
  id: `data.${key}`,
  heading: key,
  width: 'w-32',
  from: 'xl',
  cell: (event) => <span title={showKey(event, key)}>{showKey(event, key)}</span>,
})

const NAME: Column<ListedEvent> = { id: 'name', heading: 'Event', cell: ({ name }) => <span title={name}>{name}</span> }
const CONTACT: Column<ListedEvent> = {
  id: 'contact',
  heading: 'Contact',
  width: 'w-56',
  cell: ({ contact, contactId }) => (contactId ? <ContactLink contact={contact} /> : '–'),
}
const DATA: Column<ListedEvent> = {
  id: 'data',
  heading: 'Data',
  from: 'xl',
  width: 'w-72',
  cell: ({ data }) => <span className="font-mono text-code text-muted">{JSON.stringify(data)}</span>,
}
const TIME: Column<ListedEvent> = { id: 'createdAt', heading: 'Time', width: 'w-32', cell: ({ createdAt }) => <Time value={createdAt} /> }

function EventDetails({ event }: { event: ListedEvent }) {
  return (
    <div className="space-y-4">
      <Facts>
        <Fact label="Event">
          <CopyText value={event.name} label="Name" />
        </Fact>
        <Fact label="Contact">{event.contactId ? <ContactLink contact={event.contact} /> : 'None'}</Fact>
        <Fact label="Time">
          <Time value={event.createdAt} />
        </Fact>
        <Fact label="Id">
          <CopyText value={event.id} label="Id" mono />
        </Fact>
      </Facts>
      <CodeBlock title="Data" label="Data" code={JSON.stringify(event.data, null, 2)} />
    </div>
  )
}
