import { useProject } from '../../projects/current.ts'
import { LinkTabs } from '../../ui/page/link-tabs.tsx'

export function ContactsTabs() {
  const { id } = useProject()
  return (
    <LinkTabs
      label="Contacts and fields"
      tabs={[
        { path: `/app/p/${id}/contacts`, label: 'All contacts' },
        { path: `/app/p/${id}/contacts/fields`, label: 'Fields' },
      ]}
    />
  )
}
