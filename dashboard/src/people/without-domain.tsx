import { useQuery } from '@tanstack/react-query'
import { configQuery } from '../data/installation.ts'
import { canManage, useProject } from '../projects/current.ts'

/** Whether a domain for trying is added when a first email is sent: only in the sandbox, and members add no domains. */
export function useCanTry() {
  const project = useProject()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  return isSandbox && canManage(project)
}

/** In the place of a form for sending. */
export function WithoutDomain() {
  return (
    <p className="text-muted text-ui">
      {canManage(useProject())
        ? 'Add a domain and publish its records first.'
        : 'The project has no verified domain to send from. Ask an owner or admin to add one.'}
    </p>
  )
}
