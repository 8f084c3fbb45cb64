import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Check, ChevronsUpDown, Plus } from 'lucide-react'
import { projectsQuery } from '../data/projects.ts'
import { useProject } from '../projects/current.ts'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/dialog/menu.tsx'

export function ProjectSwitcher({ collapsed = false }: { collapsed?: boolean }) {
  const project = useProject()
  const projects = useQuery(projectsQuery)
  const trigger = (
    <button
      type="button"
      title={project.name}
      className="flex h-9 w-full items-center gap-2 rounded-md px-1.5 text-left hover:bg-sunken pointer-coarse:h-11"
    >
      <Initial name={project.name} />
      <span className="sr-only">Switch project. Now:</span>
      <span className={collapsed ? 'sr-only' : 'min-w-0 flex-1 truncate font-semibold text-ui'}>{project.name}</span>
      {!collapsed && <ChevronsUpDown className="size-4 shrink-0 text-muted" aria-hidden="true" />}
    </button>
  )
  return (
    <Menu trigger={trigger}>
      <MenuLabel>Your projects</MenuLabel>
      {projects.data?.map(({ id, name }) => (
        <MenuItem key={id} asChild>
          <Link to="/app/p/$projectId" params={{ projectId: id }}>
            <Initial name={name} />
            <span className="min-w-0 flex-1 truncate">{name}</span>
            {id === project.id && <Check aria-label="Current project" />}
          </Link>
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem asChild>
        <Link to="/app/new">
          <Plus aria-hidden="true" />
          New project
        </Link>
      </MenuItem>
    </Menu>
  )
}

function Initial({ name }: { name: string }) {
  return (
    <span
      aria-hidden="true"
      className="flex size-6 shrink-0 items-center justify-center rounded-md bg-accent-soft font-semibold text-accent text-xs uppercase"
    >
      {[...name.trim()][0]}
    </span>
  )
}
