import type { Condition, Contact } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Upload, Users } from 'lucide-react'
import { useState } from 'react'
import { describeCondition } from '../../conditions/sentence/sentence.ts'
import { fieldsQuery } from '../../data/contacts.ts'
import { segmentsQuery } from '../../data/segments.ts'
import { ExportList } from '../../jobs/export-list.tsx'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { NamedContact } from '../../people/named-address.tsx'
import { useProject } from '../../projects/current.ts'
import { buttonClass } from '../../ui/form/button.tsx'
import { namesById } from '../../ui/form/options.ts'
import { ownValue } from '../../ui/form/own-value.ts'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { ConditionFilter } from './condition-filter.tsx'
import { ContactMenu, DeleteContact } from './contact/contact-menu.tsx'
import { ContactPeek } from './contact/contact-peek.tsx'
import { Value } from './contact/value.tsx'
import { contactFilter, contactsQuery, readConditionFilter, readFieldFilter } from './contact-filter.ts'
import { ContactsTabs } from './contacts-tabs.tsx'
import { FieldFilter } from './field-filter.tsx'
import { AddContacts } from './import/add-contacts.tsx'
import { SaveAsSegment } from './save-as-segment.tsx'

const NOUN = { one: 'contact', many: 'contacts' }

const FILTERS: Filter[] = [
  { name: 'subscribed', label: 'Subscription', kind: 'choice', options: { true: 'Subscribed', false: 'Unsubscribed' } },
  { name: 'created', label: 'Created', kind: 'range' },
  {
    name: 'field',
    label: 'Field',
    kind: 'custom',
    describe: (value) => {
      const filter = readFieldFilter(value)
      return filter ? `${filter.field} is ${filter.value}` : value
    },
    editor: (props) => <FieldFilter {...props} />,
  },
]

/** The server counts matches exactly up to here and estimates beyond. */
const EXACT_UP_TO = 10_000

export function ContactsPage() {
  const project = useProject()
  const [deleting, setDeleting] = useState<Contact>()
  const list = useList<Contact>({
    name: 'contacts',
    filters: useContactFilters(),
    load: (api, request) => api.contacts.list(contactsQuery(request)),
    rowId,
    isEstimate: (total, { q, filters }) =>
      total >= EXACT_UP_TO && (q !== undefined || Object.keys(filters).some((name) => name !== 'subscribed')),
  })
  return (
    <>
      <ListPage
        title="Contacts"
        noun={NOUN}
        list={list}
        columns={useContactColumns()}
        rowLabel={({ email }) => email}
        rowPath={({ id }) => `/app/p/${project.id}/contacts/${id}`}
        peek={(id, contact) => <ContactPeek key={id} id={id} contact={contact} />}
        rowMenu={(contact) => <ContactMenu contact={contact} onDelete={() => setDeleting(contact)} />}
        bulk={(selection, count) => (
          <BulkActions selection={selection} count={count} request={list.request} isEstimate={list.isEstimate} onDone={list.setSelection} />
        )}
        searchHint="Search by name or address"
        defaultSort={{ sort: 'createdAt', dir: 'desc' }}
        byTime={list.request.sort !== 'email'}
        actions={
          <>
            {/* On a phone they would leave no room for the title. */}
            <span className="max-sm:hidden sm:contents">
              <ExportList
                noun={NOUN}
                total={list.total}
                about={list.isEstimate}
                start={(api) => api.contacts.export(withFilter(contactFilter(list.request)))}
              />
              <ImportLink />
            </span>
            <AddContacts />
          </>
        }
        whenFiltered={<SaveAsSegment request={list.request} />}
        call={curl('GET', `/contacts?limit=${list.request.limit}`)}
        above={<ContactsTabs />}
        firstRun={
          <FirstRun
            icon={Users}
            title="Nobody here yet"
            action={
              <span className="flex flex-wrap gap-2">
                <AddContacts label="Add your first contacts" />
                <ImportLink />
              </span>
            }
            call={{
              title: 'Or by the API',
              code: curl('POST', '/contacts', { body: { email: 'ada@example.com', data: { plan: 'pro' } } }),
            }}
          >
            Import a CSV, paste addresses, or let your app create people with one call. Everyone you track an event for or send an email to
            appears here too.
          </FirstRun>
        }
      />
      {deleting && <DeleteContact contact={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  )
}

function ImportLink() {
  const { id: projectId } = useProject()
  return (
    <Link to="/app/p/$projectId/contacts/import" params={{ projectId }} className={buttonClass('secondary', 'sm')}>
      <Upload aria-hidden="true" />
      Import
    </Link>
  )
}

const rowId = ({ id }: Contact) => id

const withFilter = <Filter extends object>(filter: Filter) => (Object.keys(filter).length > 0 ? { filter } : {})

const COLUMNS: Column<Contact>[] = [
  { id: 'email', heading: 'Contact', sort: 'email', cell: (contact) => <NamedContact contact={contact} /> },
  {
    id: 'subscribed',
    heading: 'Subscription',
    width: 'w-36',
    cell: ({ subscribed }) => <Status kind="contact" status={subscribed ? 'subscribed' : 'unsubscribed'} />,
  },
  {
    id: 'createdAt',
    heading: 'Created',
    sort: 'createdAt',
    firstDir: 'desc',
    width: 'w-32',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  { id: 'updatedAt', heading: 'Updated', width: 'w-32', from: 'lg', cell: ({ updatedAt }) => <Time value={updatedAt} /> },
]

function useContactFilters(): Filter[] {
  const project = useProject()
  const segments = useQuery(segmentsQuery(project.id)).data ?? []
  const options = namesById(segments)
  const describe = (value: string) => {
    const filter = readConditionFilter(value)
    // Has the shape of a condition, which was just checked.
    return filter ? describeCondition(filter.condition as Condition, options) : 'cannot be read'
  }
  return [
    ...FILTERS,
    { name: 'segment', label: 'Segment', kind: 'choice', options },
    { name: 'condition', label: 'Conditions', kind: 'dialog', describe, editor: (props) => <ConditionFilter {...props} /> },
  ]
}

/** Every field of the project can become a column. */
function useContactColumns(): Column<Contact>[] {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id)).data ?? []
  return [
    ...COLUMNS,
    ...fields.map(
      ({ field, type }): Column<Contact> => ({
        id: `data.${field}`,
        heading: field,
        optional: true,
        numeric: type === 'number',
        width: 'w-40',
        from: 'md',
        cell: ({ data }) => <Value value={ownValue(data, field)} type={type} />,
      }),
    ),
  ]
}
