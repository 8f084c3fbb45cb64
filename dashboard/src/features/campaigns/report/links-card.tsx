import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { campaignLinksQuery } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { Card } from '../../../ui/page/card.tsx'
import { Count, countOf } from '../../../ui/text/count.tsx'
import { RecipientsLink } from '../recipients/recipients-link.tsx'

const PEOPLE = { one: 'person', many: 'people' }
/** More are found by the API. */
const MAX_SHOWN = 50

/** Links with clicks and people. A row opens its people. */
export function LinksCard({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const links = useQuery(campaignLinksQuery(project.id, campaign.id)).data
  if (!links) return null
  return (
    <Card title="Links" description="Clicks by people. Clicks by machines are not counted." flush>
      {links.length === 0 ? (
        <p className="px-4 py-3 text-muted text-ui">No link was clicked yet.</p>
      ) : (
        <table className="w-full table-fixed text-left text-ui">
          <caption className="sr-only">Links</caption>
          <thead className="text-muted text-xs">
            <tr className="border-line border-b">
              <th scope="col" className="h-9 px-4 font-medium">
                Link
              </th>
              <th scope="col" className="w-20 px-2 text-right font-medium">
                Clicks
              </th>
              <th scope="col" className="w-20 pr-4 pl-2 text-right font-medium">
                People
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {links.slice(0, MAX_SHOWN).map(({ link, clicks, people }) => (
              <tr key={link} className="relative h-10 hover:bg-sunken/70">
                <td className="truncate px-4">{link}</td>
                <td className="px-2 text-right">
                  <Count value={clicks} />
                </td>
                <td className="pr-4 pl-2 text-right">
                  <RecipientsLink
                    campaign={campaign}
                    search={{ link }}
                    className="link"
                    ofRow={link}
                    label={`${countOf(people, PEOPLE)} that clicked ${link}`}
                  >
                    <Count value={people} />
                  </RecipientsLink>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}
