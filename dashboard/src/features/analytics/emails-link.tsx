import { emailsPath } from '../../figures/emails-path.ts'
import { useProject } from '../../projects/current.ts'
import { PathLink } from '../../ui/page/path-link.tsx'
import { Count, formatCount } from '../../ui/text/count.tsx'

type EmailsLinkProps = { value: number; of: string; filter: Omit<Parameters<typeof emailsPath>[1], 'fact'> }

/** A number of sent emails in a table; it opens them. */
export function EmailsLink({ value, of, filter }: EmailsLinkProps) {
  const project = useProject()
  return (
    <PathLink
      to={emailsPath(project.id, { fact: 'sent', ...filter })}
      aria-label={`${formatCount(value)} sent, ${of}`}
      className="rounded-sm hover:text-accent hover:underline"
    >
      <Count value={value} />
    </PathLink>
  )
}
